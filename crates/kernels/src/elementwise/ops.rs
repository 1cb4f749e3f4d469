//! The element-wise operations.

use crate::library::{Names, names};

/// A function of one number.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "the names are the functions' names")]
pub enum UnaryOp {
    Copy,
    Neg,
    Recip,
    Exp,
    Log,
    Sin,
    Cos,
    Tanh,
    Erf,
    Ceil,
    Floor,
    /// To nearest, halves away from zero.
    Round,
    /// The cumulative distribution function of the normal distribution.
    NormCdf,
    Abs,
    Sqr,
    Sqrt,
    /// Gaussian error linear unit, tanh approximation.
    Gelu,
    /// Gaussian error linear unit, exact.
    GeluErf,
    Relu,
    /// `x` if positive, otherwise `alpha * (exp(x) - 1)`.
    Elu(f64),
    Silu,
    /// `x` to the power of the parameter.
    Powf(f64),
    Sign,
    Sigmoid,
    /// `log(1 + exp(x))`.
    Softplus,
}

impl UnaryOp {
    pub(super) fn names(self) -> &'static Names {
        match self {
            Self::Copy => &names!("ucopy"),
            Self::Neg => &names!("uneg", "fp8_e4m3"),
            Self::Recip => &names!("urecip", "fp8_e4m3"),
            Self::Exp => &names!("uexp", "fp8_e4m3"),
            Self::Log => &names!("ulog", "fp8_e4m3"),
            Self::Sin => &names!("usin", "fp8_e4m3"),
            Self::Cos => &names!("ucos", "fp8_e4m3"),
            Self::Tanh => &names!("utanh", "fp8_e4m3"),
            Self::Erf => &names!("uerf", "fp8_e4m3"),
            Self::Ceil => &names!("uceil", "fp8_e4m3"),
            Self::Floor => &names!("ufloor", "fp8_e4m3"),
            Self::Round => &names!("uround", "fp8_e4m3"),
            Self::NormCdf => &names!("unormcdf", "fp8_e4m3"),
            Self::Abs => &names!("uabs", "fp8_e4m3"),
            Self::Sqr => &names!("usqr", "fp8_e4m3"),
            Self::Sqrt => &names!("usqrt", "fp8_e4m3"),
            Self::Gelu => &names!("ugelu", "fp8_e4m3"),
            Self::GeluErf => &names!("ugelu_erf", "fp8_e4m3"),
            Self::Relu => &names!("urelu", "fp8_e4m3"),
            Self::Elu(_) => &names!("uelu", "fp8_e4m3"),
            Self::Silu => &names!("usilu", "fp8_e4m3"),
            Self::Powf(_) => &names!("upowf", "fp8_e4m3"),
            Self::Sign => &names!("usign", "fp8_e4m3"),
            Self::Sigmoid => &names!("usigmoid", "fp8_e4m3"),
            Self::Softplus => &names!("usoftplus", "fp8_e4m3"),
        }
    }

    /// The operation's parameter, if it has one.
    pub(super) fn parameter(self) -> Option<f64> {
        match self {
            Self::Elu(parameter) | Self::Powf(parameter) => Some(parameter),
            _ => None,
        }
    }
}

/// A function of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the functions' names")]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    /// NaN where either is.
    Maximum,
    /// NaN where either is.
    Minimum,
}

impl BinaryOp {
    pub(super) fn names(self) -> &'static Names {
        match self {
            Self::Add => &names!("badd"),
            Self::Sub => &names!("bsub"),
            Self::Mul => &names!("bmul"),
            Self::Div => &names!("bdiv"),
            Self::Maximum => &names!("bmaximum"),
            Self::Minimum => &names!("bminimum"),
        }
    }
}

/// A comparison of two numbers. NaN is unequal to everything, and unordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the comparisons' names")]
pub enum CompareOp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

impl CompareOp {
    pub(super) fn names(self) -> &'static Names {
        match self {
            Self::Eq => &names!("eq"),
            Self::Ne => &names!("ne"),
            Self::Lt => &names!("lt"),
            Self::Le => &names!("le"),
            Self::Gt => &names!("gt"),
            Self::Ge => &names!("ge"),
        }
    }
}
