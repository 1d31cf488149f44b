//! ES modules into one script: each module once, after those it imports, with one scope for all.
//!
//! The order follows from the imports and is written down nowhere. It is strict where a bundler for everybody has to be clever:
//! every name at the top of a module is that name in the whole page, so nothing is renamed and what one reads is what runs.
//! It refuses what it does not understand, a name used without its import, and an import nobody uses.

mod error;
mod lexer;
mod module;
mod squeeze;

use std::collections::BTreeMap;
use std::io;

pub(crate) use error::{Error, Offence};
use module::Module;

/// One page's script.
#[derive(Debug)]
pub(crate) struct Bundle {
    pub(crate) script: String,
    /// Paths of its modules, in their order.
    pub(crate) modules: Vec<String>,
}

/// Everything that `entry` needs, read by `read` from a path such as `pure/scale.js`.
///
/// # Errors
/// [`Error`], with the module and its line.
pub(crate) fn bundle(entry: &str, read: impl Fn(&str) -> io::Result<String>) -> Result<Bundle, Error> {
    let mut gathering = Gathering { read, done: Vec::new(), open: Vec::new() };
    gathering.visit(entry)?;
    let modules = gathering.done;
    let owners = owners(&modules)?;
    for module in &modules {
        check_imports(module, &modules)?;
        check_names(module, &owners)?;
    }
    let texts = modules.iter().map(|module| module.script.as_str()).collect::<Vec<_>>();
    Ok(Bundle {
        // Strict, and no name is left to the page.
        script: format!("(()=>{{\"use strict\";\n{}}})();\n", texts.concat()),
        modules: modules.into_iter().map(|module| module.path).collect(),
    })
}

struct Gathering<R> {
    read: R,
    done: Vec<Module>,
    /// Modules on the way to the one that is read now.
    open: Vec<String>,
}

impl<R: Fn(&str) -> io::Result<String>> Gathering<R> {
    /// Adds the module after all that it imports.
    fn visit(&mut self, path: &str) -> Result<(), Error> {
        if self.done.iter().any(|module| module.path == path) {
            return Ok(());
        }
        if self.open.iter().any(|open| open == path) {
            return Err(Error::Circle { modules: self.open.iter().cloned().chain([path.to_owned()]).collect() });
        }
        let text = (self.read)(path).map_err(|source| Error::Read { path: path.to_owned(), source })?;
        let module = Module::parse(path, &text)?;
        self.open.push(path.to_owned());
        for import in &module.imports {
            self.visit(&import.from)?;
        }
        self.open.pop();
        self.done.push(module);
        Ok(())
    }
}

/// Who declares which name.
fn owners(modules: &[Module]) -> Result<BTreeMap<&str, &Module>, Error> {
    let mut owners: BTreeMap<&str, &Module> = BTreeMap::new();
    for module in modules {
        for name in &module.declared {
            if let Some(first) = owners.insert(&name.text, module) {
                let what = Offence::DeclaredTwice { name: name.text.clone(), first: first.path.clone() };
                return Err(Error::at(&module.path, name.line, what));
            }
        }
    }
    Ok(owners)
}

fn check_imports(module: &Module, modules: &[Module]) -> Result<(), Error> {
    for import in &module.imports {
        let found = modules.iter().find(|other| other.path == import.from);
        for name in &import.names {
            if !found.is_some_and(|other| other.declared.iter().any(|one| one.exported && one.text == name.text)) {
                let what = Offence::NotExported { name: name.text.clone(), from: import.from.clone() };
                return Err(Error::at(&module.path, name.line, what));
            }
            if !module.uses.iter().any(|used| used.text == name.text) {
                return Err(Error::at(&module.path, name.line, Offence::Unused { name: name.text.clone() }));
            }
        }
    }
    Ok(())
}

/// Every name that another module of the page declares is imported where it is used.
fn check_names(module: &Module, owners: &BTreeMap<&str, &Module>) -> Result<(), Error> {
    for used in &module.uses {
        let Some(owner) = owners.get(used.text.as_str()) else { continue };
        let imported = module.imports.iter().any(|import| import.names.iter().any(|name| name.text == used.text));
        if owner.path != module.path && !imported {
            let what = Offence::NotImported { name: used.text.clone(), from: owner.path.clone() };
            return Err(Error::at(&module.path, used.line, what));
        }
    }
    Ok(())
}
