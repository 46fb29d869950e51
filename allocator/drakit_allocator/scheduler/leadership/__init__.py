"""Which of several schedulers may write (``lease``), and what becomes of the late writes of others (``fence``)."""
