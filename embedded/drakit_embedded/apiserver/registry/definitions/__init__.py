"""The rules for CustomResourceDefinitions: what is stored of one, and whether it describes a kind that can be.

- ``strategy``, ``deletion``, ``conditions``: what happens to a definition as an object;
- ``decoding``, ``schema_fields``, ``schema_reading``: how it is read; ``internal_form``, ``schema_printing``: how
  kube-apiserver sees it, and shows it in messages;
- ``object_rules``, ``spec_rules``, ``name_rules``, ``version_rules``, ``conversion_rules``, ``approval``: rules for all
  but schemas;
- ``structurality``, ``schema_rules``, ``list_rules``, ``default_rules``, ``schema_warnings``: schemas.
"""
