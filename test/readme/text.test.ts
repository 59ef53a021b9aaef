import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fences, readme, root } from './document.ts';

const prose = readme.replace(/^```.*?^```$/gms, '');
const links = [...prose.matchAll(/\]\(([^)]+)\)/g)].map(([, target = '']) => target);
const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

describe('the text of the README', () => {
  it('links to the specification only in the version that is implemented', () => {
    const urls = readme.match(/https?:\/\/a2a-protocol\.org[^\s)`]*/g) ?? [];
    expect(urls.length).toBeGreaterThan(0);
    for (const url of urls) expect(url).toMatch(/^https:\/\/a2a-protocol\.org\/v1\.0\.1\//);
    expect(readme).not.toContain('/latest/');
  });

  it('links to headings and files that exist', () => {
    const anchors = new Set([...prose.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading)));
    for (const target of links) {
      if (target.startsWith('#')) expect(anchors).toContain(target.slice(1));
      else if (!target.includes(':')) expect(existsSync(join(root, target)), target).toBe(true);
    }
  });

  it('shows files of the repository as they are', () => {
    const shown = fences.filter(({ info }) => info.includes('file='));
    expect(shown.length).toBeGreaterThan(0);
    for (const { info, text } of shown) {
      expect(text).toBe(readFileSync(join(root, info.split('file=')[1] ?? ''), 'utf8'));
    }
  });

  it('is written for terminals and editors: no line of prose is longer than 130 characters, tables apart', () => {
    const long = prose.split('\n').filter((line) => line.length > 130 && !line.startsWith('|'));
    expect(long).toEqual([]);
  });
});
