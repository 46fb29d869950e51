"""The lexer and parser that ANTLR makes of ``CEL.g4``, which says how; only for the words of syntax errors."""
