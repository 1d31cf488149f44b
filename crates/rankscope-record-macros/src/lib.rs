//! The attribute `recorded`: every call of a function is a span. Used through `rankscope-record` with its feature `macros`.
//!
//! The attribute only puts one of the recorder's macros in front of a body, so whatever a function may be it stays: generic,
//! a method, in a trait, `unsafe` or `extern`. What is not here: arguments that nobody asked for. Those may be large, secret, or
//! not printable; `fields(..)` names the ones that are wanted.

mod arguments;

use proc_macro::TokenStream;
use proc_macro2::{TokenStream as TokenStream2, TokenTree};
use quote::quote;
use syn::{Block, ReturnType, Signature, parse_macro_input, parse_quote};

use arguments::Arguments;

/// Records every call of a function: as a span of its thread, or, for an `async fn`, as `in_span!` does.
///
/// The documentation is at `rankscope_record::recorded`.
#[proc_macro_attribute]
pub fn recorded(arguments: TokenStream, function: TokenStream) -> TokenStream {
    let arguments = parse_macro_input!(arguments as Arguments);
    let mut function = parse_macro_input!(function as Function);
    function.block = body(&arguments, &function.signature, &function.block);
    let Function { attributes, visibility, default, signature, block } = function;
    quote!(#(#attributes)* #visibility #default #signature #block).into()
}

/// A function with a body, wherever it stands.
struct Function {
    attributes: Vec<syn::Attribute>,
    visibility: syn::Visibility,
    /// Of an item of an `impl` that may be specialised.
    default: Option<syn::Token![default]>,
    signature: Signature,
    block: Block,
}

impl syn::parse::Parse for Function {
    fn parse(input: syn::parse::ParseStream<'_>) -> syn::Result<Self> {
        let attributes = input.call(syn::Attribute::parse_outer)?;
        let visibility = input.parse()?;
        let default = input.parse()?;
        let signature: Signature = input.parse()?;
        if input.peek(syn::Token![;]) {
            return Err(input.error("`recorded` needs a body to record: put it on the implementation"));
        }
        if let Some(constant) = &signature.constness {
            return Err(syn::Error::new_spanned(
                constant,
                "a `const fn` may run while the program is compiled: it cannot be recorded",
            ));
        }
        Ok(Self { attributes, visibility, default, signature, block: input.parse()? })
    }
}

fn body(arguments: &Arguments, signature: &Signature, block: &Block) -> Block {
    let name = arguments.name(signature);
    let fields = arguments.fields();
    if signature.asyncness.is_none() {
        let statements = &block.stmts;
        return parse_quote!({
            let _recorded = ::rankscope_record::record_function!(#name #fields);
            #(#statements)*
        });
    }
    let block = typed(&signature.output, block);
    parse_quote!({ ::rankscope_record::in_span!(async move #block, #name #fields).await })
}

/// The block of a future, which the compiler would else give a type too late to convert anything to it: what it returns and what
/// it ends with are said to be of the function's type.
fn typed(output: &ReturnType, block: &Block) -> TokenStream2 {
    match output {
        ReturnType::Type(_, output) if !is_opaque(quote!(#output)) => quote!({
            #[allow(unreachable_code, clippy::diverging_sub_expression, clippy::empty_loop)]
            if false {
                let returned: #output = loop {};
                return returned;
            }
            let returned: #output = #block;
            #[allow(unreachable_code, clippy::needless_return)]
            return returned;
        }),
        _ => quote!(#block),
    }
}

/// Whether a type has an `impl Trait` in it, which no variable may have.
fn is_opaque(output: TokenStream2) -> bool {
    output.into_iter().any(|token| match token {
        TokenTree::Ident(word) => word == "impl",
        TokenTree::Group(group) => is_opaque(group.stream()),
        _ => false,
    })
}
