import { keepThroughDeath, keepThroughFrost } from './harness/keeping-suite.ts';

keepThroughDeath({ adminNone: 'accepted', adminRedacted: 'accepted' });
keepThroughFrost({ adminRedacted: ['executor', 'ceiling'] });
