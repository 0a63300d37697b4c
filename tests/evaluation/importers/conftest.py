"""The traced apps are made with packages that only the group `traces` has; without them there is nothing to collect."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("opentelemetry") else ["traced_apps.py"]
