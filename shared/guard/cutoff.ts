/** Ends an exchange: at its deadline, when the caller gives up, or when it is over. */
export interface Cutoff {
  readonly signal: AbortSignal;
  /** Why the signal fired; undefined while it has not. */
  cause(): 'timeout' | 'aborted' | undefined;
  /** Replaces the running deadline by one that is `ms` milliseconds away. */
  restart(ms: number): void;
  /** Takes the deadline away; the caller's signal still counts. */
  pause(): void;
  /** Lets go of timer and caller. The signal does not fire any more. */
  release(): void;
}

/** A cutoff `ms` milliseconds away that also follows `outer`. */
export function cutoff(ms: number, outer: AbortSignal | undefined): Cutoff {
  const controller = new AbortController();
  let cause: 'timeout' | 'aborted' | undefined;
  let timer: NodeJS.Timeout | undefined;
  const end = (why: 'timeout' | 'aborted') => {
    cause ??= why;
    release();
    controller.abort();
  };
  const abort = () => end('aborted');
  const pause = () => clearTimeout(timer);
  const restart = (delay: number) => {
    pause();
    if (!controller.signal.aborted) timer = setTimeout(() => end('timeout'), delay);
  };
  const release = () => {
    pause();
    outer?.removeEventListener('abort', abort);
  };
  if (outer?.aborted) abort();
  else {
    outer?.addEventListener('abort', abort, { once: true });
    restart(ms);
  }
  return { signal: controller.signal, cause: () => cause, restart, pause, release };
}
