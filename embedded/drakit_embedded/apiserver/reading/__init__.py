"""Lists and watches: which objects are asked for, and the pages and events in which they are given."""
