// The REST API: JSON in and out, problems as errors, and the token that a service on a network asks for.
import { askForToken } from "./token.js";

const ROOT = "/api/v1";
const KEY = "tres-token";

export class Problem extends Error {
  constructor(status, body) {
    super(body?.detail || body?.title || `The service answered with status ${status}.`);
    this.status = status;
    this.errors = body?.errors ?? [];
  }
}

const token = () => sessionStorage.getItem(KEY) ?? localStorage.getItem(KEY);

export function keepToken(value, forGood) {
  sessionStorage.removeItem(KEY);
  localStorage.removeItem(KEY);
  (forGood ? localStorage : sessionStorage).setItem(KEY, value);
}

export async function send(path, { method = "GET", body, headers = {}, signal } = {}) {
  for (;;) {
    const given = { ...headers };
    if (token()) given.Authorization = `Bearer ${token()}`;
    if (body !== undefined) given["Content-Type"] = "application/json";
    let answer;
    try {
      answer = await fetch(ROOT + path, { method, headers: given, signal, body: body === undefined ? undefined : JSON.stringify(body) });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Problem(0, { detail: "The service cannot be reached. Is it running?" });
    }
    if (answer.status === 401) {
      await askForToken(token() !== null);
      continue;
    }
    if (!answer.ok) throw new Problem(answer.status, await answer.json().catch(() => null));
    return answer;
  }
}

export async function get(path, signal) {
  return (await send(path, { signal })).json();
}

export async function post(path, body, headers) {
  return (await send(path, { method: "POST", body, headers })).json();
}

// Without a token the browser streams the file to disk; with one it has to be fetched with the header first.
export async function download(path) {
  let address = ROOT + path;
  let name = "";
  if (token()) {
    const answer = await send(path);
    name = /filename="([^"]+)"/.exec(answer.headers.get("Content-Disposition") ?? "")?.[1] ?? "export";
    address = URL.createObjectURL(await answer.blob());
  }
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  if (token()) setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
