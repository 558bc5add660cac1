
    keys_ {{ m.key_given() }}[];
    statuses_ text[];
    types_ text[];
    before_ timestamptz;
    since_ timestamptz;
    part_ text;
    longer_ bigint;