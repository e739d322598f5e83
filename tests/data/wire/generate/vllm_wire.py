"""Write ../vllm/: answers of vLLM's own serving code.

Run with vllm installed (no GPU, no model): python vllm_wire.py

Real: request model, sampling parameters, detokenizer, log-probability
processor, output processor, parsers, serving class, response models and their
serialisation, keep-alive wrapper.  Made up: the sampled tokens and their
log-probabilities, the tokenizer's vocabulary, ids, times.
"""

import asyncio
import itertools
import os
import pathlib
import types
import uuid
from unittest import mock

os.environ.setdefault("VLLM_LOGGING_LEVEL", "CRITICAL")

import numpy as np
from fastapi.responses import JSONResponse

from vllm.entrypoints.openai.chat_completion import serving
from vllm.entrypoints.openai.chat_completion.protocol import (
    ChatCompletionRequest,
)
from vllm.entrypoints.serve.utils import fingerprint, sse_keep_alive
from vllm.v1.engine import EngineCoreOutput, EngineCoreRequest, FinishReason
from vllm.v1.engine.output_processor import OutputProcessor
from vllm.v1.engine.parallel_sampling import ParentRequest
from vllm.v1.outputs import LogprobsLists

import script as s

OUT = pathlib.Path(__file__).parent.parent / "vllm"
MODEL = "qwen3-8b"
TOKENIZER = s.make_tokenizer()


def make_serving(reasoning="", tools=None, fingerprint_mode="full"):
    fingerprint.set_default_fingerprint_mode(fingerprint_mode)
    config = types.SimpleNamespace(
        model=MODEL, generation_config="vllm", max_model_len=4096,
        hf_config=types.SimpleNamespace(model_type="qwen3"),
        get_diff_sampling_param=dict)
    engine = types.SimpleNamespace(
        model_config=config,
        renderer=types.SimpleNamespace(tokenizer=TOKENIZER),
        input_processor=None,
        vllm_config=types.SimpleNamespace(
            compute_hash=lambda: "1f0e9c4b77aa", parallel_config=None,
            kv_transfer_config=None))
    return serving.OpenAIServingChat(
        engine, types.SimpleNamespace(model_name=lambda lora=None: MODEL),
        "assistant", online_renderer=None, request_logger=None,
        chat_template=None, chat_template_content_format="auto",
        reasoning_parser=reasoning, enable_auto_tools=tools is not None,
        tool_parser=tools)


def lists(step, count):
    """A step's log-probabilities as the sampler hands them over: the sampled
    token, then the most likely ones (it is one of them)."""
    rows = [[(t, s.logprob(t)), *s.top(t, count)] for t in step]
    return LogprobsLists(
        np.array([[s.token_id(t) for t, _ in row] for row in rows]),
        np.array([[p for _, p in row] for row in rows], np.float32),
        np.ones(len(rows), int))


async def engine(request, scripts, fails):
    """What AsyncLLM.generate() yields, without scheduler and model."""
    params = request.to_sampling_params(512, {})
    params.update_from_tokenizer(TOKENIZER)
    processor = OutputProcessor(TOKENIZER, log_stats=False)

    def core(rid, sampling):
        made = EngineCoreRequest(
            request_id=rid, prompt_token_ids=s.prompt_ids(),
            mm_features=None, sampling_params=sampling, pooling_params=None,
            arrival_time=0.0, lora_request=None, cache_salt=None,
            data_parallel_rank=None)
        made.external_req_id = "r"
        return made

    if len(scripts) == 1:
        ids = ["r"]
        processor.add_request(core("r", params), "prompt")
    else:
        parent = ParentRequest(types.SimpleNamespace(
            request_id="r", external_req_id="r", params=params,
            sampling_params=params))
        ids = []
        for i in range(len(scripts)):
            child, child_params = parent.get_child_info(i)
            ids.append(child)
            processor.add_request(core(child, child_params), "prompt",
                                  parent, i)
    for number, steps in enumerate(itertools.zip_longest(*scripts)):
        for i, step in enumerate(steps):
            if step is None:
                continue
            last = number == len(scripts[i]) - 1
            tokens = [s.token_id(t) for t in step]
            finish = FinishReason.ERROR if fails else FinishReason.STOP
            output = EngineCoreOutput(
                request_id=ids[i], new_token_ids=tokens,
                new_logprobs=(lists(step, params.logprobs)
                              if params.logprobs is not None else None),
                finish_reason=finish if last else None)
            for result in processor.process_outputs([output]).request_outputs:
                yield result
                await asyncio.sleep(0)


def same_every_time():
    """Fixed clock and ids, so that asked and plain agree."""
    count = itertools.count(1)
    ids = mock.patch.object(
        uuid, "uuid4", lambda: uuid.UUID(int=0xa3c5 << 112 | next(count)))
    clock = mock.patch.object(serving.time, "time", lambda: float(s.CREATED))
    return ids, clock


async def answer(server, body, scripts, fails=False, keep_alive=0.0):
    request = ChatCompletionRequest.model_validate(
        {"model": MODEL, "messages": s.MESSAGES, **body})
    kwargs = {}
    parser = None
    if server.parser_cls is not None:
        parser = server._make_parser(request, TOKENIZER, kwargs)
        parser.set_prompt_token_ids(s.prompt_ids())
        request = parser.adjust_request(request=request)
        parser = server._make_parser(request, TOKENIZER, kwargs)
    rid = "chatcmpl-8e1f5c3a"       # as with the header X-Request-Id
    metadata = serving.RequestResponseMetadata(request_id=rid)
    outputs = engine(request, scripts, fails)
    args = (request, outputs, rid, MODEL, [], TOKENIZER, metadata)
    if not request.stream:
        whole = await server.chat_completion_full_generator(
            *args, parser=parser)
        return JSONResponse(content=whole.model_dump()).body
    sse = server.chat_completion_stream_generator(
        *args, chat_template_kwargs=kwargs)
    if keep_alive:
        sse = sse_keep_alive.with_sse_keep_alive(slowed(sse), keep_alive)
    return b"".join([piece.encode() async for piece in sse])


async def slowed(sse):
    """Pause before the fourth event."""
    number = 0
    async for piece in sse:
        number += 1
        if number == 4:
            await asyncio.sleep(0.15)
        yield piece


def pair(name, body, *scripts, server=None, ours=None, **how):
    server = server or make_serving()
    asked = {**body, **(s.OURS if ours is None else ours)}
    kind = "sse" if body.get("stream") else "json"
    for which, members in (("asked", asked), ("plain", body)):
        ids, clock = same_every_time()
        with ids, clock:
            data = asyncio.run(answer(server, members, list(scripts), **how))
        (OUT / f"{name}.{which}.{kind}").write_bytes(data)


def main():
    stream = {"stream": True}
    usage = {**stream, **s.USAGE}
    tools = {"tools": s.TOOL_SPECS, "tool_choice": "auto"}
    hermes = make_serving(tools="hermes")
    qwen = make_serving(reasoning="qwen3", tools="hermes")
    ids = {"return_token_ids": True}
    few = {"return_token_ids": True, "logprobs": True}

    pair("text", usage, s.TEXT)
    pair("usage_ours", stream, s.TEXT, ours={**few, **s.USAGE})
    pair("usage_ours_nofp", stream, s.TEXT, ours={**ids, **s.USAGE},
         server=make_serving(fingerprint_mode="none"))
    pair("tricky", usage, s.TRICKY, ours=few)
    pair("multi", usage, s.MULTI, ours=few)
    pair("tools", {**usage, **tools}, s.TOOLS, server=hermes)
    pair("parallel_off", {**usage, **tools, "parallel_tool_calls": False},
         s.TWO_TOOLS, server=hermes, ours=ids)
    pair("parallel_off_empty",
         {**usage, **tools, "parallel_tool_calls": False}, s.TWO_TAGGED,
         server=make_serving(tools="qwen3_coder"), ours=ids)
    pair("ids_only_tools", {**usage, **tools}, s.SHORT_TOOL, server=hermes,
         ours=ids)
    pair("think", usage, s.THINK, server=qwen)
    pair("think_tools", {**usage, **tools}, s.THINK[:4] + s.SHORT_TOOL,
         server=qwen, ours=ids)
    pair("think_hidden", {**usage, "include_reasoning": False}, s.THINK,
         server=qwen)
    pair("stopped", {**usage, "stop": ["STOP"]}, s.STOPPED, ours=few)
    pair("broken", usage, s.BROKEN, fails=True, ours=few)
    pair("two_usage_ours", {**stream, "n": 2}, s.FIRST, s.SECOND,
         ours={**ids, **s.USAGE})
    pair("agent_logprobs", {**usage, "logprobs": True, "top_logprobs": 2},
         s.FIRST, ours=ids)
    pair("agent_logprobs_tools", {**usage, **tools, "logprobs": True},
         s.SHORT_TOOL, ours=ids, server=hermes)
    pair("keep_alive", usage, s.TEXT, keep_alive=0.1, ours=ids)

    pair("text", {}, s.TEXT)
    pair("tricky", {}, s.TRICKY, ours=few)
    pair("tools", tools, s.TOOLS, server=hermes, ours=few)
    pair("think", {}, s.THINK, server=qwen)
    pair("think_hidden", {"include_reasoning": False}, s.THINK, server=qwen)
    pair("two", {"n": 2}, s.FIRST, s.SECOND, ours=few)


main()
