import { keepThroughDeath, keepThroughFrost } from './harness/keeping-suite.ts';

keepThroughDeath({ fallNone: 'start', fallRedacted: 'accepted' });
keepThroughFrost({ fallNone: ['executor'], fallRedacted: ['executor'] });
