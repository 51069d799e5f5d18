create table if not exists `affiliate_migrations` (
  `version` int not null primary key,
  `at` bigint not null
) engine = InnoDB default charset = ascii collate = ascii_bin;

create table if not exists `affiliate_events` (
  `seq` bigint not null auto_increment,
  `destination` bigint not null,
  `id` binary(16) not null,
  `state` enum('queued', 'scheduled', 'dead', 'known') not null default 'queued' comment 'scheduled: a payment that waits for its notBefore, in no queue.',
  `kind` varchar(32) not null,
  `endpoint` varchar(32) not null,
  `urgency` tinyint not null comment '1 click, 2 registration, 3 payment: that of the most urgent event that waits behind it, at least its own. 0: whether it waits for others was not looked at yet. Of the known: 0.',
  `click_id` varchar(256) comment 'Null once it is known only: then it holds nothing of the visitor.',
  `session_id` varchar(256) comment 'As click_id.',
  `data` mediumtext comment 'JSON. Null as click_id.',
  `created_at` bigint not null comment 'Times are milliseconds since 1970 in UTC.',
  `queued_at` bigint not null,
  `history` text comment 'JSON: what the attempts at it have taught. Null: there was none.',
  `tried` tinyint not null default 0,
  `interrupted` tinyint not null default 0,
  `claimed_by` binary(16) comment 'The process that has it. Still there when its lease ends: that process has died.',
  `due_at` bigint comment 'While a process has it: when the lease ends. Otherwise, if it was never tried: since when it is the next of its visitor; if it was tried: the end of its rest. Null while it waits behind an earlier event of its visitor. Of a scheduled payment: its notBefore. Of the dead and the known: since when they are.',
  `period` bigint generated always as (`due_at` div 8192) stored comment 'The period of 8,192 ms that due_at is in. A search asks for single periods.',
  `written_at` bigint comment 'When due_at was written. In the future: the clock of the server has been set back since.',
  `reason` enum('rejected', 'unconfirmed', 'expired', 'cancelled') comment 'Of the dead. Of the known, cancelled: a payment that was cancelled while it was scheduled.',
  `death` text comment 'JSON.',
  `size` int generated always as (length(`data`) + length(`death`)) stored comment 'Of the dead, in bytes.',
  primary key (`seq`),
  unique key `affiliate_events_id` (`id`, `destination`),
  key `affiliate_events_due` (`state`, `destination`, `urgency`, `endpoint`, `tried`, `period`, `due_at`, `seq`),
  key `affiliate_events_click` (`click_id`, `destination`, `state`, `seq`),
  key `affiliate_events_session` (`session_id`, `destination`, `state`, `seq`)
) engine = InnoDB row_format = dynamic default charset = ascii collate = ascii_bin
  comment = 'What waits to be reported, what was given up, and the ids of what was delivered, so that it is not reported again. An event is one row from its report until it is forgotten.';

create table if not exists `affiliate_circuits` (
  `destination` bigint not null,
  `endpoint` varchar(32) not null,
  `circuit` varchar(1024) not null,
  primary key (`destination`, `endpoint`)
) engine = InnoDB row_format = dynamic default charset = ascii collate = ascii_bin
  comment = 'Endpoints that leave payments without an answer, as all processes know them together. JSON, in a text: a process writes it only where it still reads as it has read it.';

create table if not exists `affiliate_clock` (
  `id` tinyint not null primary key comment '1: there is one row.',
  `at` bigint not null,
  `written_at` bigint not null comment 'The server''s time when at was written.'
) engine = InnoDB
  comment = 'The time by which delivered ids are forgotten: it follows the server''s, never goes back, and goes ahead in small steps.';
