"""``drakit cluster``: clusters that are kept in the background, for kubectl."""
