"""What commands and long-running components owe their users: logs, readiness, an end in order, output for scripts."""
