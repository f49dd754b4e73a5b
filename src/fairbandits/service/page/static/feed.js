// The live feed: the findings whenever they change, and the state of the connection.

const RETRY_MILLISECONDS = 3000;

// Calls `on.view(view)` with every event, and `on.state(name)` with "live" or "lost".
export function listen(on) {
  const source = new EventSource("/v1/stream");
  source.onopen = () => on.state("live");
  source.onmessage = (message) => on.view(JSON.parse(message.data));
  source.onerror = () => {
    on.state("lost");
    // The browser reconnects by itself after a broken connection, but not after a refusal.
    if (source.readyState !== EventSource.CLOSED) return;
    setTimeout(() => listenAgain(on), RETRY_MILLISECONDS);
  };
}

async function listenAgain(on) {
  try {
    const response = await fetch("/v1/fairness");
    // The session has ended. After a reload the server redirects to the login form.
    if (response.status === 401 || response.redirected) return location.reload();
  } catch {
    // The server cannot be reached; the next attempt follows.
  }
  return listen(on);
}
