"""Lists and watches: which objects are asked for, and the pages and events in which they are given.

- ``list_options``, ``get_options``: what a request asks for; ``selectors`` and ``field_selectors`` read its selectors;
- ``lists``: pages, which ``continuation`` continues;
- ``watching``: events, from the history that ``storage`` keeps.
"""
