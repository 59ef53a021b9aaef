import type { Route } from '../../shared/runtime/routes.ts';

export interface Match {
  readonly route: Route;
  readonly parameters: Readonly<Record<string, string>>;
}

/** The route of a request, with or without a trailing slash; undefined for none, also when only the method differs. */
export function matchRoute(routes: readonly Route[], method: string, path: string): Match | undefined {
  const asked = segments(path);
  for (const route of routes) {
    if (route.method !== method) continue;
    const parameters = matchSegments(segments(route.path), asked);
    if (parameters) return { route, parameters };
  }
  return undefined;
}

/** Path and query of a request line; never throws, whatever stands there. */
export function requestTarget(target = '/'): { readonly path: string; readonly query: URLSearchParams } {
  const origin = /^https?:\/\/[^/?]*/i.exec(target)?.[0] ?? '';
  const [path = '', query = ''] = splitOnce(target.slice(origin.length), '?');
  return { path: path === '' ? '/' : path, query: new URLSearchParams(query) };
}

function splitOnce(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at === -1 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}

function matchSegments(
  wanted: readonly string[],
  asked: readonly string[],
): Record<string, string> | undefined {
  if (wanted.length !== asked.length) return undefined;
  const parameters: Record<string, string> = {};
  for (const [index, segment] of wanted.entries()) {
    const value = asked[index] ?? '';
    const name = /^\{(\w+)\}$/.exec(segment)?.[1];
    if (name === undefined ? segment !== value : value === '') return undefined;
    if (name !== undefined) parameters[name] = decode(value);
  }
  return parameters;
}

function segments(path: string): string[] {
  return path.replace(/\/$/, '').split('/').slice(1);
}

function decode(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
