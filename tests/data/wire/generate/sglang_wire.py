"""Write ../sglang/: answers of SGLang's own serving code.

Run with sglang installed (no GPU, no model): python sglang_wire.py

Real: request model, serving class, reasoning and tool-call parsers, both
serialisers (msgspec for text, pydantic for the rest).  Made up: what the
tokenizer manager hands over (its dictionaries rebuilt from its source), the
tokenizer's vocabulary, ids, times.
"""

import asyncio
import itertools
import logging
import pathlib
import types
import uuid
import warnings
from http import HTTPStatus
from unittest import mock

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)

from sglang.srt.entrypoints.openai import serving_chat
from sglang.srt.entrypoints.openai.protocol import ChatCompletionRequest
from sglang.srt.utils.json_response import model_json_response

import script as s

OUT = pathlib.Path(__file__).parent.parent / "sglang"
MODEL = "qwen3-8b"
RIDS = ["b1e2d3c4a5968778695a4b3c2d1e0f10", "04c8d1b79f3e4a2c8b6d5e7f90a1b2c3"]
TOKENIZER = s.make_tokenizer()
SETTINGS = types.SimpleNamespace(
    default_chat_template_kwargs=None, return_input_ids=False,
    return_output_ids=False, enable_cache_report=False,
    incremental_streaming_output=False,
    stream_response_default_include_usage=False)


def make_serving(reasoning=None, tools=None):
    config = {"tool_call_parser": tools, "reasoning_parser": reasoning}
    manager = types.SimpleNamespace(
        config_value=config.get, server_args=None, tokenizer=TOKENIZER,
        served_model_name=MODEL, create_abort_task=lambda request: None,
        model_config=types.SimpleNamespace(
            get_default_sampling_params=dict, is_multimodal=False,
            hf_config=types.SimpleNamespace(
                model_type="qwen3", architectures=["Qwen3ForCausalLM"])))
    templates = types.SimpleNamespace(
        force_reasoning=False, reasoning_config=None,
        chat_template_name=None, python_chat_template=None)
    with mock.patch.object(serving_chat, "get_serving", lambda: SETTINGS):
        return serving_chat.OpenAIServingChat(manager, templates)


def text_of(tokens, finish):
    """As the detokenizer: an unfinished character waits, the stop is cut."""
    if finish and tokens[-1] == s.END:
        tokens = tokens[:-1]
    text = b"".join(map(s.as_bytes, tokens)).decode(errors="ignore")
    if finish and isinstance(finish.get("matched"), str):
        text = text[: text.index(finish["matched"])]
    return text


def triples(rows):
    """(logprob, id, text), as detokenize_logprob_tokens() makes them."""
    return [(value, s.token_id(token), TOKENIZER.decode([s.token_id(token)]))
            for token, value in rows]


def item(request, index, steps, number, finish):
    """One dictionary of tokenizer_manager.generate_request()."""
    tokens = [t for step in steps[: number + 1] for t in step]
    last = number == len(steps) - 1
    meta = {"id": RIDS[index],
            "finish_reason": finish if last else None,
            "prompt_tokens": len(s.PROMPT), "weight_version": "default",
            "num_retractions": 0}
    if request.logprobs:
        meta["output_token_logprobs"] = triples(
            (t, s.logprob(t)) for t in tokens)
        if request.top_logprobs:
            meta["output_top_logprobs"] = [
                triples(s.top(t, request.top_logprobs)) for t in tokens]
        meta["output_token_logprobs_length"] = len(tokens)
    think = 0
    if "<think>" in tokens:
        think = len(tokens) - 1
        if "</think>" in tokens:
            think = tokens.index("</think>") - 1
    meta.update(reasoning_tokens=think, completion_tokens=len(tokens),
                cached_tokens=0)
    return {"text": text_of(tokens, last and finish), "index": index,
            "output_ids": [s.token_id(t) for t in tokens],
            "prompt_token_ids": s.prompt_ids(), "meta_info": meta}


async def generate(request, scripts, finish, fails):
    if not request.stream:
        whole = [item(request, i, steps, len(steps) - 1, dict(finish))
                 for i, steps in enumerate(scripts)]
        yield whole if len(whole) > 1 else whole[0]
        return
    for number, steps in enumerate(itertools.zip_longest(*scripts)):
        for i, step in enumerate(steps):
            if step is None:
                continue
            end = finish
            if fails:
                end = {"type": "abort", "message": "Aborted: out of memory",
                       "status_code": HTTPStatus.INTERNAL_SERVER_ERROR,
                       "err_type": "InternalServerError"}
            yield item(request, i, scripts[i], number, dict(end))


async def answer(server, body, scripts, finish, fails):
    request = ChatCompletionRequest.model_validate(
        {"model": MODEL, "messages": s.MESSAGES, **body})
    server.tokenizer_manager.generate_request = (
        lambda adapted, raw: generate(request, scripts, finish, fails))
    if request.stream:
        return "".join([piece async for piece in server._generate_chat_stream(
            None, request, None)]).encode()
    whole = await server._handle_non_streaming_request(None, request, None)
    return model_json_response(whole).body


def pair(name, body, *scripts, server=None, ours=None, finish=None,
         fails=False):
    server = server or make_serving()
    finish = finish or {"type": "stop", "matched": s.token_id(s.END)}
    kind = "sse" if body.get("stream") else "json"
    if ours is None:
        ours = dict(s.OURS)
        if kind == "sse":       # refused with stream
            del ours["return_token_ids"]
    for which, members in (("asked", {**body, **ours}), ("plain", body)):
        count = itertools.count(1)
        with mock.patch.object(
                uuid, "uuid4",
                lambda: uuid.UUID(int=0xa3c5 << 112 | next(count) << 32)), \
             mock.patch.object(serving_chat.time, "time", lambda: s.CREATED), \
             mock.patch.object(serving_chat, "get_serving", lambda: SETTINGS):
            data = asyncio.run(answer(server, members, list(scripts), finish,
                                      fails))
        (OUT / f"{name}.{which}.{kind}").write_bytes(data)


def main():
    stream = {"stream": True}
    usage = {**stream, **s.USAGE}
    tools = {"tools": s.TOOL_SPECS, "tool_choice": "auto"}
    few = {"logprobs": True}
    ids = {"return_input_ids_in_sglext": True,
           "return_output_ids_in_sglext": True}
    qwen = make_serving(tools="qwen25")
    both = make_serving(reasoning="qwen3", tools="qwen25")
    cut = {"type": "length", "length": len(s.CUT)}
    word = {"type": "stop", "matched": "STOP"}

    pair("text", usage, s.TEXT)
    pair("usage_ours", stream, s.TEXT, ours={**few, **s.USAGE})
    pair("sglext_usage_ours", {**stream, "n": 2}, s.FIRST, s.SECOND,
         ours={**few, **ids, **s.USAGE})
    pair("tricky", usage, s.TRICKY, ours=few)
    pair("multi", usage, s.MULTI, ours=few)
    pair("tools", {**usage, **tools}, s.TOOLS, server=qwen, ours=few)
    pair("tools_usage_ours", {**stream, **tools}, s.SHORT_TOOL, server=qwen,
         ours={**few, **s.USAGE})
    pair("think", usage, s.THINK, server=both)
    pair("broken", usage, s.BROKEN, fails=True, ours=few)
    pair("agent_logprobs", {**usage, "logprobs": True, "top_logprobs": 2},
         s.FIRST, ours=ids)

    pair("text", {}, s.TEXT)
    pair("tricky", {}, s.TRICKY,
         ours={**few, "return_token_ids": True})
    pair("tools", tools, s.TOOLS, server=qwen)
    pair("think", {}, s.THINK, server=both)
    pair("cut", {}, s.CUT, finish=cut,
         ours={**few, "return_token_ids": True})
    pair("stopped", {}, s.STOPPED[:3] + s.each(" STOP"), finish=word,
         ours={**few, "return_token_ids": True})
    pair("two", {"n": 2}, s.FIRST, s.SECOND,
         ours={**few, "return_token_ids": True})
    pair("sglext", {}, s.TEXT, ours={**few, **ids})


main()
