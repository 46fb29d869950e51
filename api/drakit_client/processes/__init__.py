"""What commands and long-running components owe their users: logs, readiness, output for scripts."""
