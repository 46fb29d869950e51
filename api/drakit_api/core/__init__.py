"""What objects of ``core/v1`` and ``meta/v1`` mean, whoever asks: scheduler, allocator, driver, controllers or server.

``label_selectors`` and ``node_selectors`` say what a selector selects.
"""
