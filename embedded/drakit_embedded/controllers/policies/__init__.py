"""Whether the expressions of ValidatingAdmissionPolicies fit the types of what they are for, as their status says.

``controller`` writes the status, ``type_checks`` finds what does not fit, by the types of ``published_types``. Policies
are rare, and checking takes memory, so the latter two are loaded when there is one.
"""

from drakit_embedded.controllers.policies.controller import PolicyStatusController as PolicyStatusController
