"""HorizontalPodAutoscalers in both versions of ``autoscaling``.

They are stored as v2 has them. v1 has one of their metrics as a field, and keeps all else that it knows no field for as
JSON in annotations: ``versions`` converts whole objects, ``metrics`` what is measured, ``texts`` reads and prints the
annotations. ``strategy`` has the rules of both.
"""
