# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads TouchOSC layouts with Python's own zlib and XML, holds them to the documented structure, and prints them.

One line for each OSC message:  message ADDRESS sends|shows TYPE MIN MAX     and one for the root's script.
"""

import sys
import xml.etree.ElementTree as tree
import zlib

PARENTS = {"GROUP", "GRID", "PAGER"}
TYPES = PARENTS | {"BOX", "BUTTON", "LABEL", "TEXT", "FADER", "XY", "RADIAL", "ENCODER", "RADAR", "RADIO"}
VALUES = {
    "BUTTON": ["x", "touch"], "FADER": ["x", "touch"], "RADIAL": ["x", "touch"], "LABEL": ["text", "touch"],
    "PAGER": ["page", "touch"], "GROUP": ["touch"],
}
OSC = ["enabled", "send", "receive", "feedback", "noDuplicates", "connections", "triggers", "path", "arguments"]

data = open(sys.argv[1], "rb").read()
unpacker = zlib.decompressobj()
text = unpacker.decompress(data).decode()
assert unpacker.eof and not unpacker.unused_data, "not one whole zlib stream"
assert "\n" not in text.split("<lexml", 1)[0] and text.startswith("<?xml version='1.0' encoding='UTF-8'?><lexml")
document = tree.fromstring(text)
assert document.tag == "lexml" and document.get("version") == "6" and len(document) == 1
seen = set()


def properties(node):
    found = {}
    keys = []
    for item in node.find("properties"):
        key = item.find("key").text
        keys.append(key)
        value = item.find("value")
        kind = item.get("type")
        if kind == "b":
            assert value.text in ("0", "1")
            found[key] = value.text == "1"
        elif kind in "if":
            assert not value.text.endswith(".0")
            found[key] = float(value.text)
        elif kind == "r":
            assert [part.tag for part in value] == list("xywh")
            found[key] = [float(part.text) for part in value]
        elif kind == "c":
            assert [part.tag for part in value] == list("rgba")
            assert all(0 <= float(part.text) <= 1 for part in value)
        else:
            assert kind == "s"
            found[key] = value.text
    assert keys == sorted(keys) and len(set(keys)) == len(keys)
    return found


def partial(item):
    assert [part.tag for part in item] == ["type", "conversion", "value", "scaleMin", "scaleMax"]
    return {part.tag: part.text for part in item}


def message(osc, kind):
    tags = [part.tag for part in osc]
    fields = {part.tag: part.text for part in osc}
    assert tags == [tag for tag in OSC if tag in tags], tags
    assert len(fields["connections"]) == 10 and set(fields["connections"]) <= {"0", "1"}
    sends = fields["send"] == "1"
    assert sends == ("triggers" in tags) and fields["feedback"] == "0" and fields["receive"] == "1"
    (path,) = osc.find("path")
    (argument,) = osc.find("arguments")
    path, argument = partial(path), partial(argument)
    assert path["type"] == "CONSTANT" and argument["type"] == "VALUE"
    assert argument["value"] == ("text" if kind == "LABEL" else "x")
    print("message", path["value"], "sends" if sends else "shows", kind, argument["scaleMin"], argument["scaleMax"])


def walk(node, inside, is_root):
    kind = node.get("type")
    assert node.tag == "node" and kind in TYPES
    assert node.get("ID") not in seen
    seen.add(node.get("ID"))
    order = [child.tag for child in node]
    allowed = ["includes", "properties", "values", "messages", "children"]
    assert order == [tag for tag in allowed if tag in order] and ("includes" in order) == is_root
    found = properties(node)
    x, y, width, height = found["frame"]
    assert x >= 0 and y >= 0 and x + width <= inside[0] and y + height <= inside[1], (found["name"], found["frame"])
    assert width >= 20 and height >= 14, (found["name"], found["frame"])
    assert [value.find("key").text for value in node.find("values")] == VALUES[kind]
    for osc in node.findall("messages/osc"):
        message(osc, kind)
    children = node.findall("children/node")
    assert not children or kind in PARENTS
    frames = []
    for child in children:
        frame, interactive = walk(child, (width, height), False)
        if interactive and kind == "GROUP":
            frames.append(frame)
    for index, one in enumerate(frames):
        for other in frames[:index]:
            apart = (
                one[0] + one[2] <= other[0] or other[0] + other[2] <= one[0]
                or one[1] + one[3] <= other[1] or other[1] + other[3] <= one[1]
            )
            assert apart, ("overlap", one, other)
    return found["frame"], found["interactive"] and kind not in PARENTS


(root,) = document
assert root.get("type") == "GROUP"
walk(root, (1024, 768), True)
print("nodes", len(seen))
open(sys.argv[2], "w").write(properties(root)["script"])
