    keys_ {{ key_type | default('timestamptz') }}[];
    statuses_ text[];
    types_ text[];
    before_ timestamptz;
    since_ timestamptz;
    part_ text;
