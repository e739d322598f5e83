"""Compute the log-probabilities of a trace again, and its text from its ids.

Run: python recompute.py <vocabulary.json> <prompts> <trace>

Prompts and trace are JSON Lines; line N of the prompts has the token ids of the
prompt of turn N.  Prints what was compared; ends with 1 if anything differs.
"""

import json
import re
import sys

import numpy as np

import tiny_model as model

TOLERANCE = 1e-3
VOCABULARY, PROMPTS, TRACE = sys.argv[1:]
CALL = re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)
faults = []


def expect(what, holds):
    if not holds:
        faults.append(what)


def text_of(ids, vocabulary):
    return b"".join(vocabulary[i] for i in ids).decode()


def compare_text(name, text, message):
    if message.get("tool_calls"):
        made = [call for calls in CALL.findall(text)
                for call in json.loads(f"[{calls}]")]
        told = [{"name": call["function"]["name"],
                 "arguments": json.loads(call["function"]["arguments"])}
                for call in message["tool_calls"]]
        expect(f"{name}: {text!r} is not {told!r}", made == told)
    else:
        # The server's chat parser passes over white space at the ends.
        expect(f"{name}: {text!r} is not {message['content']!r}",
               text.strip() == message["content"].strip())


def compare(name, prompt, choice, vocabulary):
    """`choice`: its ids, log-probabilities and message."""
    ids, told, message = choice
    found = model.log_probabilities([*prompt, *ids], vocabulary)
    rows = np.arange(len(ids)) + len(prompt) - 1
    apart = np.abs(found[rows, ids] - told)
    expect(f"{name}: log-probabilities differ by {apart.max()}, first at token "
           f"{(apart > TOLERANCE).argmax()}", apart.max() < TOLERANCE)
    compare_text(name, text_of(ids, vocabulary), message)
    return len(ids), apart.max()


def choices(turn):
    """Choice 0's tokens are the record's own."""
    for choice in turn["response"]["choices"]:
        if choice["index"] == 0:
            yield (turn["completion_token_ids"], turn["per_token_logps"],
                   choice["message"])
        else:
            entries = choice["logprobs"]["content"]
            yield ([entry["id"] for entry in entries],
                   [entry["logprob"] for entry in entries],
                   choice["message"])


def main():
    vocabulary = model.vocabulary(VOCABULARY)
    with open(PROMPTS) as file:
        prompts = [json.loads(line) for line in file]
    count, tokens, worst = 0, 0, 0.0
    with open(TRACE) as file:
        for line in file:
            turn = json.loads(line)
            name = f"turn {turn['turn']}"
            prompt = prompts[turn["turn"] - 1]
            expect(f"{name}: {len(prompt)} prompt tokens",
                   len(prompt) == turn["usage"]["prompt_tokens"])
            expect(f"{name}: the entries' tokens",
                   turn["completion_tokens"] ==
                   [entry["token"] for entry in turn["logprobs"]])
            for choice in choices(turn):
                number, apart = compare(name, prompt, choice, vocabulary)
                count, tokens = count + 1, tokens + number
                worst = max(worst, apart)
    print(f"{count} answers, {tokens} tokens, largest difference {worst:.2g}")
    for fault in faults:
        print(fault)
    return bool(faults)


sys.exit(main())
