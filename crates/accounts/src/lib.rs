//! Who is who: people, their tokens, the bases and who may do what in them.

pub mod activity;
pub mod bases;
pub mod password;
pub mod secret;
pub mod sign_in;
pub mod start;
pub mod tokens;
pub mod users;

use kernel::Entry;

/// The operations of this room, in the manual's order.
pub const OPS: &[Entry] = &[
    Entry::of::<users::SetUp>(),
    Entry::of::<users::LogIn>(),
    Entry::of::<users::ShowMe>(),
    Entry::of::<users::AddUser>(),
    Entry::of::<users::ListUsers>(),
    Entry::of::<users::DisableUser>(),
    Entry::of::<tokens::CreateToken>(),
    Entry::of::<tokens::ListTokens>(),
    Entry::of::<tokens::RevokeToken>(),
    Entry::of::<bases::CreateBase>(),
    Entry::of::<bases::ListBases>(),
    Entry::of::<bases::UpdateBase>(),
    Entry::of::<bases::ListMembers>(),
    Entry::of::<bases::SetMember>(),
    Entry::of::<bases::RemoveMember>(),
    Entry::of::<activity::ListActivity>(),
    Entry::of::<activity::ListAllActivity>(),
];
