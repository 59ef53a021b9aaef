import { keepThroughDeath } from './harness/keeping-suite.ts';

keepThroughDeath({ adminNone: 'accepted' });
