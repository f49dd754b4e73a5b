// The live feed: what the server found, whenever it has changed; and how the connection is.

const RETRY = 3000;

// Calls `on.found(view)` with everything that comes, and `on.state(name)` with "live" or "lost".
export function listen(on) {
  const source = new EventSource("/v1/stream");
  source.onopen = () => on.state("live");
  source.onmessage = (message) => on.found(JSON.parse(message.data));
  source.onerror = () => {
    on.state("lost");
    // Where the connection broke the browser tries again by itself; where the server refused, it does not.
    if (source.readyState !== EventSource.CLOSED) return;
    setTimeout(() => again(on), RETRY);
  };
}

async function again(on) {
  try {
    const answer = await fetch("/v1/fairness");
    // The session has ended: the server says where to go.
    if (answer.status === 401 || answer.redirected) return location.reload();
  } catch {
    // Nobody is there; the next try will tell.
  }
  return listen(on);
}
