"""Sizes that the API of resource.k8s.io allows.

A driver that splits a pool, the mixin flattener and the validation must agree on them. All are from ``k8s.io/api``
v0.37.1 ``resource/v1/types.go`` or its internal twin, where each constant has the name given in the comment behind it;
the three at the end are those of names of objects and labels (``k8s.io/apimachinery`` v0.37.1
``pkg/util/validation``).
"""

from __future__ import annotations

DRIVER_NAME_LENGTH = 63  # DriverNameMaxLength
POOL_NAME_LENGTH = 253  # PoolNameMaxLength

SLICE_DEVICES = 128  # ResourceSliceMaxDevices
# Applies as soon as one device of the slice consumes counters, has taints, or has a list attribute.
SLICE_DEVICES_WITH_ADVANCED_FEATURES = 64  # ResourceSliceMaxDevicesWithAdvancedFeatures
SLICE_COUNTER_SETS = 8  # ResourceSliceMaxCounterSets
COUNTERS_PER_SET = 32  # ResourceSliceMaxCountersPerCounterSet

COUNTER_CONSUMPTIONS_PER_DEVICE = 2  # ResourceSliceMaxDeviceCounterConsumptionsPerDevice
COUNTERS_PER_CONSUMPTION = 32  # ResourceSliceMaxCountersPerDeviceCounterConsumption
COMPATIBILITY_GROUPS_PER_CONSUMPTION = 2  # DeviceCompatibilityGroupsMaxSize
ATTRIBUTES_AND_CAPACITIES_PER_DEVICE = 32  # ResourceSliceMaxAttributesAndCapacitiesPerDevice
# Each element of a list attribute counts as one value.
ATTRIBUTE_VALUES_PER_DEVICE = 48  # ResourceSliceMaxAttributeValuesPerDevice
ATTRIBUTE_DOMAIN_LENGTH = 63  # DeviceMaxDomainLength
ATTRIBUTE_ID_LENGTH = 32  # DeviceMaxIDLength
ATTRIBUTE_VALUE_LENGTH = 64  # DeviceAttributeMaxValueLength
TAINTS_PER_DEVICE = 16  # DeviceTaintsMaxLength
BINDING_CONDITIONS = 4  # BindingConditionsMaxSize
BINDING_FAILURE_CONDITIONS = 4  # BindingFailureConditionsMaxSize

ALLOCATION_RESULTS = 32  # AllocationResultsMaxSize
CLAIM_REQUESTS = ALLOCATION_RESULTS  # DeviceRequestsMaxSize
CLAIM_CONSTRAINTS = 32  # DeviceConstraintsMaxSize
CLAIM_CONFIGS = 32  # DeviceConfigMaxSize
CLAIM_CONSUMERS = 256  # ResourceClaimReservedForMaxSize
SELECTORS = 32  # DeviceSelectorsMaxSize
SUBREQUESTS = 8  # FirstAvailableDeviceRequestMaxSize
DERIVED_ATTRIBUTES = 32  # DeviceDerivedAttributesMaxSize

CEL_EXPRESSION_LENGTH = 10 * 1024  # CELSelectorExpressionMaxLength
CEL_EXPRESSION_COST = 1_000_000  # CELSelectorExpressionMaxCost
CLAIM_DERIVED_ATTRIBUTES_COST = 1_000_000  # DeviceClaimDerivedAttributeCELMaxCost
OPAQUE_PARAMETERS_LENGTH = 10 * 1024  # OpaqueParametersMaxLength

REQUEST_POLICY_OPTIONS = 10  # CapacityRequestPolicyDiscreteMaxOptions
DEVICE_STATUS_DATA_LENGTH = 10 * 1024  # AllocatedDeviceStatusDataMaxLength
DEVICE_STATUS_CONDITIONS = 8  # AllocatedDeviceStatusMaxConditions
NETWORK_IPS = 16  # NetworkDeviceDataMaxIPs
NETWORK_INTERFACE_NAME_LENGTH = 256  # NetworkDeviceDataInterfaceNameMaxLength
NETWORK_HARDWARE_ADDRESS_LENGTH = 128  # NetworkDeviceDataHardwareAddressMaxLength
TAINT_RULE_CONDITIONS = 8  # DeviceTaintRuleStatusMaxConditions

DNS_LABEL_LENGTH = 63  # DNS1123LabelMaxLength
DNS_SUBDOMAIN_LENGTH = 253  # DNS1123SubdomainMaxLength
LABEL_VALUE_LENGTH = 63  # LabelValueMaxLength
