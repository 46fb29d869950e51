"""What stories of patches need: patches and their scheduler, changes at random, and a merge of their own to compare."""
