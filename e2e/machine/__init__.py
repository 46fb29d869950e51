"""Nothing stays on a machine after a test run, however it ended. These stories want the machine for themselves."""
