import { call, message } from '../local/rpc.ts';
import { liftQuotas } from './administer.ts';
import { startCommand } from './command.ts';

/*
 * `npm run bench`: how long `npm start` takes to be ready, and a blocking echo through the local host, on this machine.
 * It judges nothing.
 */
const STARTS = 7;
const WARMING = 50;
const ECHOES = 300;

const starts: number[] = [];
for (let i = 0; i < STARTS; i++) {
  await using host = await startCommand([], { direct: true });
  starts.push(host.readyAfterMs);
}
tell('start-up of the host', starts);

await using host = await startCommand([], { direct: true, variables: { SEALPOST_ADMIN_TOKEN: 'bench' } });
await liftQuotas(host.url, 'bench');
const echoes: number[] = [];
for (let i = 0; i < WARMING + ECHOES; i++) {
  const before = performance.now();
  const { body } = await call(host, 'SendMessage', message('Hello!'));
  const took = performance.now() - before;
  if (body.result?.task?.status.state !== 'TASK_STATE_COMPLETED') throw new Error(JSON.stringify(body));
  if (i >= WARMING) echoes.push(took);
}
tell('blocking echo', echoes);

function tell(what: string, milliseconds: readonly number[]): void {
  const sorted = milliseconds.toSorted((a, b) => a - b);
  const at = (share: number) => `${sorted[Math.floor((sorted.length - 1) * share)]?.toFixed(0)} ms`;
  console.log(`${what}: median ${at(0.5)}, 95th percentile ${at(0.95)}, ${sorted.length} times`);
}
