// What happens in a crawl, as it happens: its event stream, taken up again where it broke.
import { send } from "./api.js";

const LONGEST_PAUSE = 15_000;
const SHARE = 8;

// EventSource cannot send a token, so the stream is read by hand.
export function follow(path, onEvent, onState) {
  const ended = new AbortController();
  let last = null;
  let pause = 1000;

  async function read() {
    const headers = { Accept: "text/event-stream" };
    if (last !== null) headers["Last-Event-ID"] = last;
    const answer = await send(path, { headers, signal: ended.signal });
    onState(true);
    pause = 1000;
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const blocks = (rest + value).replaceAll("\r\n", "\n").split("\n\n");
      rest = blocks.pop();
      for (const block of blocks) take(block);
    }
  }

  function take(block) {
    const fields = {};
    for (const line of block.split("\n")) {
      const at = line.indexOf(":");
      if (at > 0) fields[line.slice(0, at)] = line.slice(at + 1).trimStart();
    }
    if ("id" in fields) last = fields.id;
    if ("data" in fields) onEvent(fields.event ?? "message", JSON.parse(fields.data));
  }

  async function keepReading() {
    while (!ended.signal.aborted) {
      try {
        await read();
      } catch (error) {
        if (ended.signal.aborted) return;
        if (error.status === 404) return;
        onState(false);
      }
      await new Promise((resolve) => setTimeout(resolve, pause));
      pause = Math.min(pause * 2, LONGEST_PAUSE);
    }
  }

  keepReading();
  return () => ended.abort();
}

// Calls `work` soon after it was asked for, never twice at once, at most once in `milliseconds`, and not unseen.
// Work that takes long is asked for less often, so that a large crawl is not held up by those who watch it.
export function eased(work, milliseconds) {
  let wanted = false;
  let busy = false;
  let closed = false;

  async function run() {
    if (busy || closed || document.hidden) return;
    busy = true;
    wanted = false;
    const begun = performance.now();
    try {
      await work();
    } finally {
      setTimeout(() => {
        busy = false;
        if (wanted) run();
      }, Math.max(milliseconds, SHARE * (performance.now() - begun)));
    }
  }

  function ask() {
    wanted = true;
    run();
  }

  const seen = () => wanted && run();
  document.addEventListener("visibilitychange", seen);
  ask.close = () => {
    closed = true;
    document.removeEventListener("visibilitychange", seen);
  };
  return ask;
}
