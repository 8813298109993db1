"""The migration checker: what happens to this cuDNN code on another library (docs/check.md).

Readers turn sources, logs and recordings into calls (``events.Event``); a model of state follows them (``model``);
rules (``rules``) judge each call in its state and tell ``findings.Finding``; reports print them, and ``port``
rewrites what is certain.
"""
