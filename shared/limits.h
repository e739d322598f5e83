#ifndef SHARED_LIMITS_H
#define SHARED_LIMITS_H

/*
 * Every limit on what a peer may make us hold, in one list.  Bytes unless the
 * name says otherwise.  A limit that is reached is an ordinary error that names
 * it; nothing is ever cut silently.
 */

/*
 * JSON: nesting that the scanner follows; more is "not valid JSON" to us.  The
 * readers of traces give up, too: Python near 1,000 levels, cJSON at 1,000.
 */
#define LIMIT_JSON_DEPTH 512 /* levels */

/* HTTP server (proxy, replay). */
#define LIMIT_HTTP_HEADERS   (64u << 10)
#define LIMIT_HTTP_BODY      (64u << 20)
#define LIMIT_HTTP_REPLY_GAP (256u << 10) /* unsent bytes before we pause */

/* ... from all its peers together. */
#define LIMIT_HTTP_CONNECTIONS 1024         /* connections */
#define LIMIT_HTTP_AHEAD       (64u << 10)  /* sent before the answer is over */
#define LIMIT_HTTP_HELD        (512u << 20) /* of requests not yet answered */

/* HTTP client: what an upstream may send us. */
#define LIMIT_REPLY_HEADERS (64u << 10)
#define LIMIT_REPLY_BODY    (64u << 20) /* a whole (not streamed) answer */
#define LIMIT_REPLY_ERROR   (1u << 20)  /* an answer with status >= 400 */

/* Server-sent events. */
#define LIMIT_SSE_EVENT (16u << 20)

/* One model call, assembled: texts, tokens and log-probabilities together. */
#define LIMIT_TURN_PART    (256u << 20)
#define LIMIT_TURN_MEMORY  (256u << 10) /* more is spilled to a file */
#define LIMIT_TURN_CHOICES 128          /* choices */
#define LIMIT_TOOL_CALLS   256          /* tool calls a choice */

/* Token ids of a prompt, kept to compare the next one with. */
#define LIMIT_LINEAGE_IDS (2u << 20)

/* One record of a trace, uncompressed. */
#define LIMIT_TRACE_RECORD (1u << 30)

/* Files a person gives us: keys, tasks, sampling, certificates. */
#define LIMIT_KEY_FILE  (16u << 10)
#define LIMIT_TASK_FILE (64u << 20)
#define LIMIT_CA_BUNDLE (16u << 20)

/* A task. */
#define LIMIT_TASK_COMMANDS 1000 /* setup or verify commands */
#define LIMIT_TASK_FILES    10000
#define LIMIT_COMMAND_TEXT  (120u << 10) /* Linux refuses 128 KiB */
#define LIMIT_INSTRUCTION   (16u << 20)
#define LIMIT_UPLOAD_FILE   (1u << 30)

/* What comes out of a sandbox. */
#define LIMIT_JOB_TAIL          (64u << 10) /* kept of a command's output */
#define LIMIT_OUTPUT_TAIL       2000        /* characters in the result */
#define LIMIT_AGENT_LOG         (256u << 20)
#define LIMIT_REWARD_FILE       4096
#define LIMIT_COLLECT_FILES     1024 /* files copied out of the workdir */
#define LIMIT_COLLECT_FILE      (8u << 20)
#define LIMIT_COLLECT_TOTAL     (64u << 20)
#define LIMIT_COLLECT_LISTING   (4u << 20)
#define LIMIT_RESULT_FILES      32          /* files quoted in result.json */
#define LIMIT_RESULT_FILE       (63u << 10) /* a quoted file's size */
#define LIMIT_RESULT_FILE_CHARS 8000        /* characters quoted of each */
#define LIMIT_PATH              4096

#endif
