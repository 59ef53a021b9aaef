/**
 * Name endings that no public server has: the special-use names of RFC 6761, 6762 (with its appendix G), 7686, 8375
 * and 9476, the names ICANN keeps out of the root because private networks use them, and what common routers and
 * container hosts add. `example.com`, `.net` and `.org` are left out: they resolve and are harmless.
 */
const SPECIAL_USE: ReadonlySet<string> = new Set([
  'alt',
  'arpa',
  'corp',
  'domain',
  'example',
  'home',
  'home.arpa',
  'internal',
  'intranet',
  'invalid',
  'lan',
  'local',
  'localdomain',
  'localhost',
  'mail',
  'onion',
  'private',
  'test',
  'workgroup',
]);

/** Whether `host` (lower case, no trailing dot) is a special-use name or lies below one. */
export function isSpecialUse(host: string): boolean {
  const labels = host.split('.');
  return labels.some((_, first) => SPECIAL_USE.has(labels.slice(first).join('.')));
}
