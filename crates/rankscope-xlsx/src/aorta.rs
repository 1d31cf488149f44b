//! Workbooks that lie and are called as aorta leaves them.
