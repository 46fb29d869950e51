"""The kubelet plugin: gRPC services on unix sockets, as a kubelet expects them of every DRA driver.

``sockets`` holds the paths and who may use them, ``services`` the gRPC methods, ``health`` what the kubelet is told of
each device, ``health_control`` how tests say what that is, ``server`` the servers' life. Calls go on to
``drakit_driver.preparing.prepare``.
"""
