"""What the recorded answers of tests/data/wire say, read in the plainest way.

    python3 tests/data/expected/generate.py

writes one SERVER.jsonl per server beside this file, a line for each answer with
the proxy's members in it.  Standard library only, and on purpose nothing in
common with the proxy's own reader; numbers are kept as the text that they are.
"""

import json
import pathlib

HERE = pathlib.Path(__file__).parent
WIRE = HERE.parent / "wire"
TEXTS = ["content", "reasoning", "reasoning_content", "refusal"]
PLACEHOLDER = -9999.0


class Number(str):
    """A number's own text."""


def loads(text):
    return json.loads(text, parse_int=Number, parse_float=Number)


def string(text):
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    out = ""
    for c in text:
        named = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r",
                 "\t": "\\t"}
        out += named.get(c) or ("\\u%04x" % ord(c) if c < " " else c)
    return '"' + out + '"'


def dumps(value):
    if value is None or value is True or value is False:
        return json.dumps(value)
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, str):
        return string(value)
    if isinstance(value, list):
        return "[" + ",".join(map(dumps, value)) + "]"
    return "{" + ",".join(f"{string(k)}:{dumps(v)}"
                          for k, v in value.items()) + "}"


class Choice:
    def __init__(self):
        self.texts = dict.fromkeys(TEXTS)
        self.calls = {}
        self.finish_reason = None
        self.entries = []
        self.ids = []

    def add(self, object):
        for message in (object.get("delta"), object.get("message")):
            self.add_message(message or {})
        self.entries += (object.get("logprobs") or {}).get("content") or []
        self.ids += (object.get("token_ids")
                     or object.get("response_token_ids") or [])
        self.finish_reason = object.get("finish_reason") or self.finish_reason

    def add_message(self, message):
        for name in TEXTS:
            if message.get(name) is not None:
                self.texts[name] = (self.texts[name] or "") + message[name]
        for number, piece in enumerate(message.get("tool_calls") or []):
            call = self.calls.setdefault(
                piece.get("index", number),
                {"id": None, "name": None, "arguments": ""})
            function = piece.get("function") or {}
            call["id"] = call["id"] or piece.get("id")
            call["name"] = call["name"] or function.get("name")
            call["arguments"] += function.get("arguments") or ""

    def token_ids(self):
        told = [e["id"] for e in self.entries if "id" in e]
        return self.ids or (told if len(told) == len(self.entries) else [])

    def status(self):
        ids = self.token_ids()
        bad = any(e["logprob"] is None or float(e["logprob"]) > 0
                  or float(e["logprob"]) <= PLACEHOLDER
                  for e in self.entries)
        if not ids and not self.entries:
            return "none"
        if bad or (ids and self.entries and len(ids) != len(self.entries)):
            return "mismatch"
        if not self.entries:
            return "ids_only"
        return "unconfirmed" if ids else "logprobs_only"


def token_status(choices, usage):
    statuses = {c.status() for c in choices.values()}
    if not statuses:
        return "none"
    if len(statuses) > 1:
        return "mismatch"
    status = statuses.pop()
    told = (usage or {}).get("completion_tokens")
    if status in ("none", "mismatch") or told is None:
        return status
    count = sum(len(c.entries or c.ids) for c in choices.values())
    if count != int(told):
        return "mismatch"
    return "exact" if status == "unconfirmed" else status


def parts(path):
    """The JSON objects that an answer consists of."""
    if path.suffix == ".json":
        return [loads(path.read_bytes())]
    lines = path.read_bytes().decode().split("\n")
    data = [line[5:].strip() for line in lines if line.startswith("data:")]
    return [loads(text) for text in data if text != "[DONE]"]


def describe_choice(index, choice):
    out = {"index": index, **choice.texts,
           "tool_calls": list(choice.calls.values()),
           "finish_reason": choice.finish_reason}
    return out


def read(path):
    choices, usage, prompt = {}, None, None
    for part in parts(path):
        usage = part.get("usage") or usage
        sglext = part.get("sglext") or {}
        prompt = (prompt or part.get("prompt_token_ids")
                  or sglext.get("input_ids"))
        for object in part.get("choices") or []:
            prompt = prompt or object.get("prompt_token_ids")
            choices.setdefault(object["index"], Choice()).add(object)
        for index, ids in enumerate(sglext.get("output_ids") or []):
            choices[Number(index)].ids += ids
    first = choices[Number(0)]
    return {
        "of": path.name,
        "completion_tokens": [e["token"] for e in first.entries],
        "completion_token_ids": first.token_ids(),
        "per_token_logps": [e["logprob"] for e in first.entries],
        "prompt_token_ids": prompt,
        "finish_reason": first.finish_reason,
        "token_status": token_status(choices, usage),
        "choices": [describe_choice(i, c) for i, c in choices.items()],
    }


def main():
    for server in sorted(p for p in WIRE.iterdir() if p.name != "generate"):
        paths = sorted(server.glob("*.asked.*"))
        lines = [dumps(read(path)) + "\n" for path in paths]
        (HERE / f"{server.name}.jsonl").write_bytes("".join(lines).encode())


main()
