"""The part of SARIF 2.1.0 that the checker writes, as a schema for ``json_schema``; written from the standard.

Section numbers are those of "Static Analysis Results Interchange Format (SARIF) Version 2.1.0", OASIS. What
the standard allows and the checker does not write is left out here, so that a misspelt property fails.
"""

from __future__ import annotations

from typing import Any

LEVELS = ["none", "note", "warning", "error"]
TEXT = {"type": "string"}
COUNT = {"type": "integer", "minimum": 1}


def only(required: list[str], **properties: Any) -> dict[str, Any]:
    """Return the schema of an object with these properties and no others."""
    return {"type": "object", "required": required, "properties": properties, "additionalProperties": False}


def many(item: Any) -> dict[str, Any]:
    return {"type": "array", "items": item}


MESSAGE = only(["text"], text=TEXT)  # 3.11
REGION = only(["startLine"], startLine=COUNT, startColumn=COUNT, endLine=COUNT, endColumn=COUNT)  # 3.30
ARTIFACT = only(["uri"], uri=TEXT)  # 3.4
PHYSICAL = only(["artifactLocation"], artifactLocation=ARTIFACT, region=REGION)  # 3.29
LOCATION = only(  # 3.28
    ["physicalLocation"], id={"type": "integer", "minimum": 0}, message=MESSAGE, physicalLocation=PHYSICAL
)
REPLACEMENT = only(["deletedRegion"], deletedRegion=REGION, insertedContent=MESSAGE)  # 3.57
CHANGE = only(["artifactLocation", "replacements"], artifactLocation=ARTIFACT, replacements=many(REPLACEMENT))  # 3.56
RULE = only(  # 3.49
    ["id", "shortDescription", "fullDescription", "help", "defaultConfiguration"],
    id=TEXT,
    shortDescription=MESSAGE,
    fullDescription=MESSAGE,
    help=only(["text"], text=TEXT, markdown=TEXT),
    defaultConfiguration=only([], level={"enum": LEVELS}),
    properties={"type": "object"},
)
RESULT = only(  # 3.27
    ["message", "ruleId", "ruleIndex", "level", "locations", "partialFingerprints"],
    ruleId=TEXT,
    ruleIndex={"type": "integer", "minimum": 0},
    level={"enum": LEVELS},
    message=MESSAGE,
    locations=many(LOCATION),
    relatedLocations=many(LOCATION),
    partialFingerprints={"type": "object", "additionalProperties": TEXT},
    suppressions=many(only(["kind"], kind={"enum": ["inSource", "external"]})),
    fixes=many(only(["artifactChanges"], description=MESSAGE, artifactChanges=many(CHANGE))),
    properties={"type": "object"},
)
NOTICE = only(["message"], level={"enum": LEVELS}, message=MESSAGE, locations=many(LOCATION))  # 3.58
RUN = only(  # 3.14
    ["tool", "results"],
    tool=only(["driver"], driver=only(["name"], name=TEXT, version=TEXT, rules=many(RULE))),
    columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    invocations=many(
        only(["executionSuccessful"], executionSuccessful={"type": "boolean"}, toolExecutionNotifications=many(NOTICE))
    ),
    results=many(RESULT),
    properties={"type": "object"},
)
LOG = only(["version", "runs"], **{"$schema": TEXT, "version": {"const": "2.1.0"}, "runs": many(RUN)})  # 3.13
