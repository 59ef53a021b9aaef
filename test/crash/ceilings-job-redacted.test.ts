import { keepThroughDeath, keepThroughFrost } from './harness/keeping-suite.ts';

keepThroughDeath({ adminRedacted: 'accepted' });
keepThroughFrost({ adminRedacted: ['executor', 'ceiling'] });
