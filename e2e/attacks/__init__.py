"""What somebody who means harm does to a cluster, and what must hold afterwards.

Each story attacks an embedded cluster of its own (``victim``) and then asks the same of it: the process that was
started is still there, small requests are answered, a new pod gets its devices. ``make e2e-attacks`` runs all of them.
Attacks that are drawn at random take their choices from ``attack_random``, which ``--attack-seed`` repeats, and go on
for as long as ``rounds`` lasts, which is ``--attack-seconds`` for each story.
"""
