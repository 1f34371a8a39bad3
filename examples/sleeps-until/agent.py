"""Looks at the disk, sleeps until a date, looks again, and says what changed.

While it sleeps its process is gone and its sandbox paused; at the date it is started again, and goes on.
"""

import os
import shutil
import time
from datetime import datetime, timedelta, timezone

from longhaul_agent import start_agent

FOLDER = os.path.dirname(os.path.abspath(__file__))


def look():
    return {"at": time.time(), "freeBytes": shutil.disk_usage(FOLDER).free}


def wake_up_time():
    """WAKE_AT, or else so many minutes from now."""
    given = os.environ.get("WAKE_AT")
    later = datetime.now(timezone.utc) + timedelta(minutes=float(os.environ.get("SLEEP_MINUTES", "5")))
    return given or later.isoformat()


agent = start_agent()
# Reckoned and saved once: at the next start, "five minutes from now" would be another time.
plan = agent.restore()
if plan is None:
    plan = {"before": look(), "wakeAt": wake_up_time()}
    agent.checkpoint(step=1, progress=0.5, message="asleep until " + plan["wakeAt"], state=plan)

agent.sleep_until(plan["wakeAt"])

after = look()
agent.done(
    {
        "wakeAt": plan["wakeAt"],
        "sleptSeconds": round(after["at"] - plan["before"]["at"], 1),
        "freeBytesChange": after["freeBytes"] - plan["before"]["freeBytes"],
        "starts": agent.incarnation,
    }
)
