"""Fixtures for test suites that need a cluster with DRA devices; registered as a pytest entry point."""
