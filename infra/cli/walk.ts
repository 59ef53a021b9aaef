import type { Bar } from './progress.ts';
import type { Row } from './render.ts';

/** Goes on from part to part of a walk over all tasks, as each answer's `next` says, and adds them up. */
export async function addUp(
  bar: Bar,
  first: Row,
  more: (cursor: unknown) => Promise<object>,
  counted: 'touched' | 'purged',
  total?: number,
): Promise<Row> {
  let { next, ...sum } = first;
  while (next !== undefined) {
    bar.show(Number(sum['looked']), total, `tasks looked at, ${sum[counted]} ${counted}`);
    const part = (await more(next)) as Row;
    sum = {
      ...sum,
      looked: Number(sum['looked']) + Number(part['looked']),
      [counted]: Number(sum[counted]) + Number(part[counted]),
    };
    next = part['next'];
  }
  bar.show(
    Number(sum['looked']),
    total ?? Number(sum['looked']),
    `tasks looked at, ${sum[counted]} ${counted}`,
  );
  bar.end();
  return sum;
}
