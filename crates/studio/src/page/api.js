// Asking the server. Answers come as lines of JSON; an abandoned question is aborted, and the
// server stops working on it.

const base = new URL('./api/', document.baseURI);

/** What the server said was wrong, in words. */
export class Refused extends Error {}

async function refusal(response) {
  let words = `the server answered ${response.status}`;
  try {
    words = (await response.json()).error ?? words;
  } catch {
    // no words: the number will do
  }
  return new Refused(words);
}

function post(path, body, signal) {
  const raw = body instanceof Blob;
  return fetch(new URL(path, base), {
    method: 'POST',
    headers: { 'content-type': raw ? 'application/octet-stream' : 'application/json' },
    body: raw ? body : JSON.stringify(body),
    signal,
  });
}

/** Calls `each` with every line of the answer. */
export async function lines(path, body, signal, each) {
  const response = await post(path, body, signal);
  if (!response.ok) throw await refusal(response);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  let count = 0;
  const take = (line) => {
    const value = JSON.parse(line);
    if (value.error !== undefined) throw new Refused(value.error);
    count += 1;
    return each(value);
  };
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    rest += value;
    const parts = rest.split('\n');
    rest = parts.pop();
    for (const line of parts) await take(line);
  }
  if (count === 0) throw new Refused('the server gave no answer');
}

/** The one line of an answer. */
export async function one(path, body, signal) {
  let answer;
  await lines(path, body, signal, (line) => { answer = line; });
  return answer;
}

/** A file that the server writes. */
export async function bytes(path, body) {
  const response = await post(path, body);
  if (!response.ok) throw await refusal(response);
  return response.blob();
}

export async function opening() {
  const response = await fetch(new URL('opening', base));
  if (!response.ok) throw await refusal(response);
  return response.json();
}

/** Whether an error only means that we no longer wanted to know. */
export const abandoned = (error) => error.name === 'AbortError';
