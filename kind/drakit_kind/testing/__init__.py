"""What test suites use of drakit: the settings of a run, its clusters, and what they leave behind."""
