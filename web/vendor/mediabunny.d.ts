// tools/web.sh puts the mediabunny module beside this file.
export * from 'mediabunny';
