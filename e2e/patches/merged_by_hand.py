"""Patches merged the slow and obvious way: each device by itself, nothing remembered; only CEL is the product's."""

from __future__ import annotations

from typing import Any

from drakit_api.cel import CelError, compile_selector, device_view

Object = dict[str, Any]
Device = tuple[str, str, str]  # driver, pool, device


def merged_devices(slices: list[Object], patches: list[Object], classes: list[Object]) -> dict[Device, Object]:
    """Each device as the seed says that it looks: attributes, capacity, taints."""
    found: dict[Device, Object] = {}
    for one in slices:
        driver, pool = one["spec"]["driver"], one["spec"]["pool"]["name"]
        for device in one["spec"].get("devices") or ():
            found[driver, pool, device["name"]] = merged_device(device, driver, pool, patches, classes)
    return found


def merged_device(device: Object, driver: str, pool: str, patches: list[Object], classes: list[Object]) -> Object:
    """Attributes, capacity and taints of one device."""
    applying = [one["spec"]["devices"] | {"meta": one["metadata"]} for one in patches]
    applying = [one for one in applying if applies(one.get("filter") or {}, device, driver, pool, classes)]
    result: Object = {"taints": list(device.get("taints") or ())}
    for member in ("attributes", "capacity"):
        values = dict(device.get(member) or {})
        # The weakest first, so that stronger ones overwrite what it says.
        for name in {name for one in applying for name in one.get(member) or {}}:
            saying = [one for one in applying if name in (one.get(member) or {})]
            saying.sort(key=lambda one: one["meta"]["name"], reverse=True)
            saying.sort(key=lambda one: one["meta"]["creationTimestamp"], reverse=True)
            saying.sort(key=lambda one: one.get("priority") or 0)
            _put(values, name, saying[-1][member][name], driver)
        result[member] = values
    applying.sort(key=lambda one: one["meta"]["name"])
    applying.sort(key=lambda one: one["meta"]["creationTimestamp"])
    applying.sort(key=lambda one: one.get("priority") or 0, reverse=True)
    result["taints"] += [taint for one in applying for taint in one.get("taints") or ()]
    return result


def _put(values: Object, name: str, value: Object, driver: str) -> None:
    short = name.removeprefix(f"{driver}/")
    places = [place for place in (name, short) if place in values] or [name]
    for place in places:
        if "null" in value:
            values.pop(place, None)
        else:
            values[place] = value


def applies(wanted: Object, device: Object, driver: str, pool: str, classes: list[Object]) -> bool:
    """Whether a device satisfies a filter; not if that fails with an error."""
    if wanted.get("driver", driver) != driver or wanted.get("pool", pool) != pool:
        return False
    if wanted.get("device", device["name"]) != device["name"]:
        return False
    selectors = list(wanted.get("selectors") or ())
    if (name := wanted.get("deviceClassName")) is not None:
        known = [one for one in classes if one["metadata"]["name"] == name]
        if not known:
            return False
        selectors += known[0]["spec"].get("selectors") or ()
    try:
        return all(compile_selector(one["cel"]["expression"]).matches(device_view(driver, device)) for one in selectors)
    except CelError:
        return False
