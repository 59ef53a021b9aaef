import { createGuard } from '../../shared/guard/index.ts';
import { scriptedResolver } from './receiver.ts';

/** Run as a program, so that a test can choose its environment: sends one request and prints the outcome. */
const { port, host, ca } = JSON.parse(process.argv[2] ?? '{}');
const guard = createGuard({
  ownHosts: [],
  resolver: scriptedResolver({ [host]: [['127.0.0.1']] }),
  loopbackNames: [host],
  ...(ca ? { ca: [ca] } : {}),
});
const outcome = await guard.request({
  url: `https://${host}:${port}/`,
  policy: { purpose: 'webhook', allowedPorts: [port] },
  method: 'POST',
  headers: {},
  body: '{}',
  deadlineMs: 10_000,
  maxResponseBytes: 1024,
  discardBody: true,
});
process.stdout.write(JSON.stringify(outcome));
